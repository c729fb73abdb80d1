"""`python -m gradfuzz`"""

from gradfuzz.cli.app import app

app()
