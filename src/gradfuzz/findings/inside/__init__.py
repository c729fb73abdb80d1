"""The part of this room that runs inside the target's interpreter: what is the same bug, seeing it again, making it small."""
