from tests.sources.trees import foreign_tree

__all__ = ["foreign_tree"]
