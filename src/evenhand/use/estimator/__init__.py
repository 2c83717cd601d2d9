"""The scikit-learn face: mappings as preprocessors, and the paper's pipeline and shielded models as classifiers."""

from evenhand.use.estimator.classifier import PreprocessedClassifier
from evenhand.use.estimator.preprocessor import OptimizedPreprocessor
from evenhand.use.estimator.shielded import ShieldedClassifier

__all__ = ["OptimizedPreprocessor", "PreprocessedClassifier", "ShieldedClassifier"]
