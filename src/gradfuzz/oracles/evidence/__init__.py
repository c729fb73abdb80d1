"""Evidence: what can be measured about a suspicion. Each thing is measured when it is asked for, and once."""
