! heatf.F90 - heat on a plate that is cut both ways, in Fortran 90: each task has a rectangle, and in each step puts its four edges into
! the halos of its neighbours by LAPI_PUTV. Along a column the numbers lie together, along a row a column apart: both are strided
! vectors. LAPI_GFENCE says that all halos have come. At the end task 0 fetches the rectangles by LAPI_GETV, compares the plate with the same
! plate computed alone, which must be equal to the last bit, and draws it.
!
! HEAT_PICTURE=file: the plate as a picture, too (PPM, 480 x 320).
module plate
  implicit none
  include 'lapif.h'
  integer, parameter :: width = 480, height = 320, steps = 500, most = 128
  double precision, parameter :: kept = 0.9998d0 ! of its heat, in a step

  ! One task's rectangle: columns first_x + 1 to first_x + nx of the plate, rows first_y + 1 to first_y + ny.
  type rectangle
    integer :: first_x, nx, first_y, ny
  end type rectangle

contains

  ! The grid of tasks: as square as the number allows. Column and row of a task count from 0.
  subroutine divide(ntasks, across, down)
    integer, intent(in) :: ntasks
    integer, intent(out) :: across, down
    down = int(sqrt(dble(ntasks)))
    do while (mod(ntasks, down) /= 0)
      down = down - 1
    end do
    across = ntasks / down
  end subroutine divide

  function rectangle_of(task, across, down) result(r)
    integer, intent(in) :: task, across, down
    type(rectangle) :: r
    integer :: x, y
    x = mod(task, across)
    y = task / across
    r%first_x = width * x / across
    r%nx = width * (x + 1) / across - r%first_x
    r%first_y = height * y / down
    r%ny = height * (y + 1) / down - r%first_y
  end function rectangle_of

  ! The fixed temperature of a point: a hot ring, a cold bar; negative elsewhere.
  double precision function held(x, y)
    integer, intent(in) :: x, y
    double precision :: from_centre
    from_centre = hypot(x - 0.33d0 * width, y - 0.5d0 * height)
    held = -1
    if (abs(from_centre - 0.3d0 * height) < 0.03d0 * height) held = 100
    if (abs(x - 0.75d0 * width) < 0.02d0 * width .and. y > 0.2d0 * height .and. y < 0.8d0 * height) held = 100
    if (abs(y - 0.5d0 * height) < 0.02d0 * height .and. x > 0.5d0 * width .and. x < 0.95d0 * width) held = 0
  end function held

  subroutine begin(r, u, fixed)
    type(rectangle), intent(in) :: r
    double precision, intent(out) :: u(0:r%nx + 1, 0:r%ny + 1), fixed(r%nx, r%ny)
    integer :: x, y
    u = 0
    do y = 1, r%ny
      do x = 1, r%nx
        fixed(x, y) = held(r%first_x + x, r%first_y + y)
        u(x, y) = max(fixed(x, y), 0d0)
      end do
    end do
  end subroutine begin

  ! One step: each point becomes the mean of its neighbours, less what is lost.
  subroutine advance(r, old, new, fixed)
    type(rectangle), intent(in) :: r
    double precision, intent(in) :: old(0:r%nx + 1, 0:r%ny + 1), fixed(r%nx, r%ny)
    double precision, intent(inout) :: new(0:r%nx + 1, 0:r%ny + 1)
    integer :: x, y
    do y = 1, r%ny
      do x = 1, r%nx
        new(x, y) = kept / 4 * ((old(x - 1, y) + old(x + 1, y)) + (old(x, y - 1) + old(x, y + 1)))
        if (fixed(x, y) >= 0) new(x, y) = fixed(x, y)
      end do
    end do
  end subroutine advance

  ! Makes a strided vector: count blocks of `bytes` bytes, `stride` bytes apart. The vector points at numbers.
  subroutine describe(vector, numbers, address, bytes, stride, count)
    type(LAPI_VEC_T), intent(out) :: vector
    integer(LAPI_ADDR_TYPE), intent(out) :: numbers(3)
    integer(LAPI_ADDR_TYPE), intent(in) :: address
    integer, intent(in) :: bytes, stride, count
    integer :: ierror
    numbers = [address, int(bytes, LAPI_ADDR_TYPE), int(stride, LAPI_ADDR_TYPE)]
    vector%vec_type = LAPI_GEN_STRIDED_XFER
    vector%num_vecs = count
    vector%len = LAPI_ADDR_NULL
    call LAPI_ADDRESS(numbers, vector%info, ierror)
  end subroutine describe

  ! Where point x, y of a rectangle's array is that begins at base, halo included.
  integer(LAPI_ADDR_TYPE) function point(r, base, x, y)
    type(rectangle), intent(in) :: r
    integer(LAPI_ADDR_TYPE), intent(in) :: base
    integer, intent(in) :: x, y
    point = base + 8_LAPI_ADDR_TYPE * (x + int(y, LAPI_ADDR_TYPE) * (r%nx + 2))
  end function point

  ! Puts one edge of this task's array into the halo of another's. The vectors are LAPI's until org_cntr has changed.
  subroutine put_edge(hndl, tgt, mine, here, from_x, from_y, theirs, there, to_x, to_y, org_cntr)
    integer, intent(in) :: hndl, tgt, from_x, from_y, to_x, to_y
    type(rectangle), intent(in) :: mine, theirs
    integer(LAPI_ADDR_TYPE), intent(in) :: here, there
    type(LAPI_CNTR_T), volatile :: org_cntr
    type(LAPI_VEC_T) :: org_vec, tgt_vec
    integer(LAPI_ADDR_TYPE) :: org_numbers(3), tgt_numbers(3), tgt_address
    integer :: ierror
    if (from_x == to_x) then ! a row's worth of numbers that lie together
      call describe(org_vec, org_numbers, point(mine, here, from_x, from_y), 8 * mine%nx, 8 * mine%nx, 1)
      call describe(tgt_vec, tgt_numbers, point(theirs, there, to_x, to_y), 8 * mine%nx, 8 * mine%nx, 1)
    else ! one number of each column
      call describe(org_vec, org_numbers, point(mine, here, from_x, from_y), 8, 8 * (mine%nx + 2), mine%ny)
      call describe(tgt_vec, tgt_numbers, point(theirs, there, to_x, to_y), 8, 8 * (theirs%nx + 2), mine%ny)
    end if
    call LAPI_ADDRESS(tgt_vec, tgt_address, ierror)
    call LAPI_PUTV(hndl, tgt, tgt_address, org_vec, LAPI_ADDR_NULL, org_cntr, LAPI_ADDR_NULL, ierror)
    call sample_check(ierror, 'LAPI_PUTV')
    call LAPI_WAITCNTR(hndl, org_cntr, 1, LAPI_ADDR_NULL, ierror)
  end subroutine put_edge

  subroutine put_edges(hndl, task, across, down, here, arrays)
    integer, intent(in) :: hndl, task, across, down
    integer(LAPI_ADDR_TYPE), intent(in) :: here, arrays(:)
    type(rectangle) :: mine, other
    type(LAPI_CNTR_T), volatile, save :: org_cntr
    integer :: ierror
    mine = rectangle_of(task, across, down)
    call LAPI_SETCNTR(hndl, org_cntr, 0, ierror)
    if (mod(task, across) > 0) then
      other = rectangle_of(task - 1, across, down)
      call put_edge(hndl, task - 1, mine, here, 1, 1, other, arrays(task), other%nx + 1, 1, org_cntr)
    end if
    if (mod(task, across) < across - 1) then
      other = rectangle_of(task + 1, across, down)
      call put_edge(hndl, task + 1, mine, here, mine%nx, 1, other, arrays(task + 2), 0, 1, org_cntr)
    end if
    if (task >= across) then
      other = rectangle_of(task - across, across, down)
      call put_edge(hndl, task - across, mine, here, 1, 1, other, arrays(task - across + 1), 1, other%ny + 1, org_cntr)
    end if
    if (task + across < across * down) then
      other = rectangle_of(task + across, across, down)
      call put_edge(hndl, task + across, mine, here, 1, mine%ny, other, arrays(task + across + 1), 1, 0, org_cntr)
    end if
  end subroutine put_edges

  ! At task 0: the rectangles of all tasks, without their halos.
  subroutine collect(hndl, ntasks, across, down, arrays, whole)
    integer, intent(in) :: hndl, ntasks, across, down
    integer(LAPI_ADDR_TYPE), intent(in) :: arrays(:)
    double precision, volatile :: whole(width, height)
    type(LAPI_CNTR_T), volatile, save :: org_cntr
    type(LAPI_VEC_T) :: org_vec, tgt_vec
    integer(LAPI_ADDR_TYPE) :: org_numbers(3), tgt_numbers(3), address
    type(rectangle) :: r
    integer :: task, ierror
    call LAPI_SETCNTR(hndl, org_cntr, 0, ierror)
    do task = 0, ntasks - 1
      r = rectangle_of(task, across, down)
      call LAPI_ADDRESS(whole(r%first_x + 1, r%first_y + 1), address, ierror)
      call describe(org_vec, org_numbers, address, 8 * r%nx, 8 * width, r%ny)
      call describe(tgt_vec, tgt_numbers, point(r, arrays(task + 1), 1, 1), 8 * r%nx, 8 * (r%nx + 2), r%ny)
      call LAPI_ADDRESS(tgt_vec, address, ierror)
      call LAPI_GETV(hndl, task, address, org_vec, LAPI_ADDR_NULL, org_cntr, ierror)
      call sample_check(ierror, 'LAPI_GETV')
      call LAPI_WAITCNTR(hndl, org_cntr, 1, LAPI_ADDR_NULL, ierror)
    end do
  end subroutine collect

  ! The same by one task: a rectangle that is the whole plate.
  subroutine alone(whole)
    double precision, intent(out) :: whole(width, height)
    type(rectangle) :: r
    double precision, allocatable :: u(:, :, :), fixed(:, :)
    integer :: step
    r = rectangle_of(0, 1, 1)
    allocate (u(0:width + 1, 0:height + 1, 0:1), fixed(width, height))
    u = 0
    call begin(r, u(:, :, 0), fixed)
    do step = 0, steps - 1
      call advance(r, u(:, :, mod(step, 2)), u(:, :, mod(step + 1, 2)), fixed)
    end do
    whole = u(1:width, 1:height, mod(steps, 2))
  end subroutine alone

  subroutine draw(whole)
    double precision, intent(in) :: whole(width, height)
    character(10), parameter :: shades = ' .:-=+*#%@'
    character(width / 6) :: line
    integer :: x, y, shade
    do y = 6, height, 12
      do x = 1, width / 6
        shade = 1 + int(whole(6 * x - 3, y) / 10.001d0)
        line(x:x) = shades(shade:shade)
      end do
      print '(a)', trim(line)
    end do
  end subroutine draw

  ! Black over red and yellow to white.
  subroutine write_picture(file, whole)
    character(*), intent(in) :: file
    double precision, intent(in) :: whole(width, height)
    character(3 * width) :: line
    character(40) :: head
    integer :: unit, x, y, warm
    open (newunit=unit, file=file, access='stream', form='unformatted', status='replace')
    write (head, '(a,a1,i0,1x,i0,a1,a,a1)') 'P6', new_line('a'), width, height, new_line('a'), '255', new_line('a')
    write (unit) trim(head)
    do y = 1, height
      do x = 1, width
        warm = int(7.65d0 * whole(x, y))
        line(3 * x - 2:3 * x) = char(min(warm, 255))//char(min(max(warm - 255, 0), 255))//char(min(max(warm - 510, 0), 255))
      end do
      write (unit) line
    end do
    close (unit)
  end subroutine write_picture
end module plate

program heatf
  use plate
  implicit none
  integer :: hndl, task, ntasks, across, down, ierror, step, i
  integer(LAPI_ADDR_TYPE) :: here(0:1), arrays(most, 0:1)
  type(rectangle) :: mine
  ! The halos are written by other tasks.
  double precision, allocatable, volatile :: u(:, :, :)
  double precision, allocatable :: fixed(:, :)
  integer(8) :: started, ended, rate

  call sample_begin(hndl, task, ntasks)
  if (ntasks > most) then
    call sample_say('too many tasks')
    stop 1
  end if
  call divide(ntasks, across, down)
  mine = rectangle_of(task, across, down)
  allocate (u(0:mine%nx + 1, 0:mine%ny + 1, 0:1), fixed(mine%nx, mine%ny))
  u = 0
  call begin(mine, u(:, :, 0), fixed)
  do i = 0, 1
    call LAPI_ADDRESS(u(0, 0, i), here(i), ierror)
    call LAPI_ADDRESS_INIT(hndl, here(i), arrays(:, i), ierror)
    call sample_check(ierror, 'LAPI_ADDRESS_INIT')
  end do

  call system_clock(started, rate)
  do step = 0, steps - 1
    ! Halos of one array are written while others still read those of the other array: one fence a step is enough.
    call put_edges(hndl, task, across, down, here(mod(step, 2)), arrays(:, mod(step, 2)))
    call LAPI_GFENCE(hndl, ierror)
    call sample_check(ierror, 'LAPI_GFENCE')
    call advance(mine, u(:, :, mod(step, 2)), u(:, :, mod(step + 1, 2)), fixed)
  end do
  call LAPI_GFENCE(hndl, ierror)
  call system_clock(ended)
  if (task == 0) call finish(1000d0 * (ended - started) / rate)
  call sample_end(hndl)

contains

  subroutine finish(together)
    double precision, intent(in) :: together
    double precision, allocatable, volatile :: whole(:, :)
    double precision, allocatable :: serial(:, :)
    character(200) :: file
    logical :: equal
    allocate (whole(width, height), serial(width, height))
    call collect(hndl, ntasks, across, down, arrays(:, mod(steps, 2)), whole)
    call system_clock(started)
    call alone(serial)
    call system_clock(ended)
    equal = all(serial == whole)
    call sample_expect(equal, 'both plates are equal')
    call draw(serial)
    print '(i0,a,i0,a,i0,a,i0,a,i0,2a)', steps, ' steps: one task alone ', nint(1000d0 * (ended - started) / rate), ' ms, ', &
      across, ' x ', down, ' tasks together ', nint(together), ' ms; the Fortran plates are equal: ', merge('yes', 'NO ', equal)
    call get_environment_variable('HEAT_PICTURE', file)
    if (file /= ' ') call write_picture(trim(file), serial)
    flush (6)
  end subroutine finish
end program heatf
