"""Factor subspaces: the directions of code space along which each factor changes.

``solve.factor_subspaces`` finds them by either solver, ``fast`` (directional regression and Gauss-Newton) or ``nested``
(networks on a linear spine); ``options`` has their options and results, ``traversal`` decodes steps along their axes.
"""
