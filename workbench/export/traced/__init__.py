"""Functions of torch replaced while a module is traced for export."""
