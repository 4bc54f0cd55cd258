# SPDX-License-Identifier: GPL-3.0-or-later
# What the tests of several processes that clean and predict share: sourced after lib.sh.
need_mpi
make_shared_sets

# A new column is stored by itself, as float32 in tiles, in the last of the set's files.
columns() { ls -v "$1"/table.f*_TSM0 | tail -"$2"; }
numbers() { od -An -v -t f4 -w4 "$1"; }

# The major cycles, and the columns that they leave.
declare -A options=(
  [rows]="--size 128 --scale 1amin --pol IQUV --niter 100 --update-model --residual-column LEFT"
  [layers]="--size 128 --scale 10amin --subgrid 32 --aterms dish.conf --niter 60 --beam-size 30amin --update-model"
  [spread]="--size 64 --scale 150amin --niter 60 --beam-size 300amin"
)
