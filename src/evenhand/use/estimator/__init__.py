"""The scikit-learn face: mappings as preprocessors, and the paper's whole pipeline as one classifier."""

from evenhand.use.estimator.classifier import PreprocessedClassifier
from evenhand.use.estimator.preprocessor import OptimizedPreprocessor

__all__ = ["OptimizedPreprocessor", "PreprocessedClassifier"]
