"""Steps of other packages' trainers with ORTModule and without."""
