"""The three dashboards as code; build.py writes them as JSON."""
