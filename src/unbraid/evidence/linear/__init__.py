"""Linear probes of the factors, one subject a module.

``importance`` has the weights of codes behind the linear DCI, ``regression`` the cross-fitted R², ``classifiers`` the
areas under ROC curves and the predictive information.
"""
