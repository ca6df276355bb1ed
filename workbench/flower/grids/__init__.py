"""How the server reaches its clients: processes of this machine, or other machines."""
