"""Parts shared by the app and the pages of single steps: status, buttons and boxes."""
