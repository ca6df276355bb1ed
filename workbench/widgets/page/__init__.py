"""What every page has, that of a step alone and the app: status, buttons and boxes."""
