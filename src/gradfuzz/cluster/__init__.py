"""A campaign's workers on many machines: a pool on each, leased jobs by the driver."""
