"""Storages: files of this machine, and of HDFS and object stores."""
