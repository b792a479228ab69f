"""A class that distributed pickles as it did before."""

import pandas as pd


class Subclass(pd.DataFrame):
    """Another DataFrame."""

    @property
    def _constructor(self):
        return Subclass
