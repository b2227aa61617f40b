! A ring of messages with the module mpi_f08, without the optional arguments:
! a send, an Irecv and a reduction, of each rank; the receive is from anybody.
program ring
  use mpi_f08
  implicit none
  integer :: rank, n, got, total
  type(MPI_Request) :: req
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call MPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, req)
  call MPI_Send(rank, 1, MPI_INTEGER, mod(rank + 1, n), 1, MPI_COMM_WORLD)
  call MPI_Wait(req, MPI_STATUS_IGNORE)
  call MPI_Allreduce(got, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. total == n * (n - 1) / 2) print *, 'done'
  call MPI_Finalize()
end program
