! A ring of messages with the module mpi: a send, an Irecv and a reduction, of
! each rank; the receive is from anybody.
program ring
  use mpi
  implicit none
  integer :: ierr, rank, n, got, total, req
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  call MPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &
       req, ierr)
  call MPI_Send(rank, 1, MPI_INTEGER, mod(rank + 1, n), 1, MPI_COMM_WORLD, &
       ierr)
  call MPI_Wait(req, MPI_STATUS_IGNORE, ierr)
  call MPI_Allreduce(got, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
       ierr)
  if (rank == 0 .and. total == n * (n - 1) / 2) print *, 'done'
  call MPI_Finalize(ierr)
end program
