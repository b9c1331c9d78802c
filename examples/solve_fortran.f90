! Solves A x = b from Fortran, with the module of windrow.f90.
! Heat carried by a wind along a row of cells; b is A times the x with x(i) = i, so that the answer is known.
program solve_fortran
  use windrow
  implicit none
  integer, parameter :: n = 1000
  integer(c_int32_t) :: row_ptr(n + 1), col(3 * n)
  real(c_double) :: val(3 * n), b(n), x(n)
  type(wr_solve_options) :: options
  type(wr_solve_result) :: found
  character(kind=c_char), target :: cpu(4) = ['c', 'p', 'u', c_null_char]
  integer :: i, j, k

  k = 0
  row_ptr(1) = 0
  do i = 1, n
    b(i) = 0
    do j = max(i - 1, 1), min(i + 1, n)
      k = k + 1
      col(k) = j - 1
      val(k) = merge(2.5d0, merge(-1.5d0, -0.5d0, j < i), i == j)
      b(i) = b(i) + val(k) * j
    end do
    row_ptr(i + 1) = k
  end do
  options%size = c_sizeof(options)
  options%tolerance = 1d-12
  options%device = c_loc(cpu)
  found%size = c_sizeof(found)
  if (wr_solve_csr(int(n, c_int64_t), row_ptr, col, val, b, x, options, found) /= 0) then
    print '(2a)', 'solve_fortran: ', text_of(wr_status_message())
    stop 1
  end if
  print '(a, a, i0, a, es7.1, a, es7.1)', text_of(wr_outcome_title(found%outcome)), ' after ', found%iterations, &
    ' iterations, largest error ', maxval(abs(x - [(i, i = 1, n)])), ', residual ', found%residual
end program
