"""Floor 4: the verbs. argparse; one small file per verb."""
