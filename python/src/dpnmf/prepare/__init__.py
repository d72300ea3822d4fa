"""For the data holder: files of other kinds as input of `dpnmf-curator import`.

Each function reads one kind of file, writes a matrix with one row for each
*person* (.npy, or .mtx if it is sparse) and, where features have names, a file
of names, and prints the import command. All is computed on this machine. What is
written is as private as what was read (mode 0600); the names become public.

Public facts must be declared, not taken from the data: the vocabulary, the list
of genes, the size of a picture, the columns of a table.
"""

from dpnmf.prepare._cells import h5ad, tenx
from dpnmf.prepare._output import Prepared
from dpnmf.prepare._pictures import images
from dpnmf.prepare._tables import parquet, table, xlsx
from dpnmf.prepare._texts import text

__all__ = ["Prepared", "h5ad", "images", "parquet", "table", "tenx", "text", "xlsx"]
