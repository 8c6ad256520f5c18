! dgsps.f90 - LAPI_UTIL: data gather/scatter programs, a DDM function in Fortran, the lock; LAPI_DGSP_XFER. Any number of tasks.
module combining
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  implicit none
  integer(4), save, volatile :: place(100) = 0, calls = 0, seen_operand = -1, seen_operation = -1
  integer(c_intptr_t), save :: scatter = 0 ! the DGSP that the header handler names
end module combining

! Adds what comes to what is there; its numbers come by reference, like all of Fortran's.
function adding(in, inout, bytes, operand, operation)
  use combining, only: calls, seen_operand, seen_operation
  implicit none
  include 'lapif.h'
  integer(LAPI_ADDR_TYPE) :: adding
  integer(LAPI_LONG_TYPE) :: bytes
  integer(4) :: in(bytes / 4), inout(bytes / 4), operand, operation
  calls = calls + 1
  seen_operand = operand
  seen_operation = operation
  inout = inout + in
  adding = bytes
end function adding

function dgsp_handler(hndl, uhdr, uhdr_len, info, comp_h, user_info)
  use combining
  implicit none
  include 'lapif.h'
  integer(LAPI_ADDR_TYPE) :: dgsp_handler
  integer(4) :: hndl, uhdr(*), uhdr_len, rc
  type(LAPI_RETURN_INFO_T) :: info
  integer(LAPI_ADDR_TYPE) :: comp_h, user_info
  comp_h = LAPI_ADDR_NULL
  user_info = hndl + uhdr_len ! uhdr is no variable when uhdr_len is 0
  info%dgsp_handle = scatter
  call LAPI_ADDRESS(place, dgsp_handler, rc)
end function dgsp_handler

program dgsps
  use testing
  use combining
  implicit none
  include 'lapif.h'
  ! Four bytes of every eight. Programs are integers in memory; a sequence type of instructions is as good.
  type every_other
    sequence
    type(LAPI_DGSM_COPY_T) :: copy
    type(LAPI_DGSM_ITERATE_T) :: iterate
  end type every_other
  integer(4) :: h, me, n, next, rc, i
  integer(LAPI_ADDR_TYPE) :: gather, address, function_address
  integer(LAPI_ADDR_TYPE), allocatable :: counters(:)
  integer(LAPI_ADDR_TYPE), external :: adding, dgsp_handler
  type(LAPI_CNTR_T), save, volatile :: arrived
  integer(4), save :: data(100)

  call start(h, me, n, LAPI_ADDR_NULL)
  next = mod(me + 1, n)
  data = [(i, i=1, 100)]
  allocate (counters(n))
  call LAPI_SETCNTR(h, arrived, 0, rc)
  call LAPI_ADDRESS(arrived, address, rc)
  call LAPI_ADDRESS_INIT(h, address, counters, rc)
  call registration
  call packing
  call message
  call combination
  call giving_back
  call the_lock
  call LAPI_GFENCE(h, rc)
  call LAPI_TERM(h, rc)
  call finish('dgsps')

contains

  subroutine register(code_address, ints, size, extent, atom, handle)
    integer(LAPI_ADDR_TYPE), intent(in) :: code_address
    integer(4), intent(in) :: ints, atom
    integer(LAPI_LONG_TYPE), intent(in) :: size, extent
    integer(LAPI_ADDR_TYPE), intent(out) :: handle
    type(LAPI_DGSP_DESCR_T) :: descriptor
    type(LAPI_REG_DGSP_T) :: command
    descriptor%code = code_address
    descriptor%code_size = ints
    descriptor%depth = 1
    descriptor%density = LAPI_DGSM_SPARSE
    descriptor%size = size
    descriptor%extent = extent
    descriptor%lext = 0
    descriptor%rext = extent
    descriptor%atom_size = atom
    command%Util_type = LAPI_REGISTER_DGSP
    call LAPI_ADDRESS(descriptor, command%idgsp, rc)
    command%dgsp_handle = LAPI_ADDR_NULL
    call LAPI_UTIL(h, command, rc)
    call good(rc, 'LAPI_REGISTER_DGSP')
    handle = command%dgsp_handle
  end subroutine register

  ! A COPY of `bytes` bytes from offset 0. It is set by members: a constructor would have to name the padding, which 32 bits lack.
  type(LAPI_DGSM_COPY_T) function copy_of(bytes)
    integer(4), intent(in) :: bytes
    copy_of%opcode = LAPI_DGSM_COPY
    copy_of%bytes = bytes
    copy_of%offset = 0
  end function copy_of

  subroutine registration
    type(every_other), save :: code_of
    type(LAPI_REG_DGSP_T) :: command
    code_of%copy = copy_of(4)
    code_of%iterate = LAPI_DGSM_ITERATE_T(LAPI_DGSM_ITERATE, -LAPI_DGSM_COPY_SIZE)
    call LAPI_ADDRESS(code_of, address, rc)
    call register(address, LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE, 4_LAPI_LONG_TYPE, 8_LAPI_LONG_TYPE, 0, gather)
    call expect(gather /= LAPI_ADDR_NULL, 'a handle')
    command%Util_type = LAPI_REGISTER_DGSP
    command%idgsp = LAPI_ADDR_NULL
    call LAPI_UTIL(h, command, rc)
    call expect(rc /= LAPI_SUCCESS, 'LAPI_REGISTER_DGSP of nothing')
    command%Util_type = LAPI_LAST_UTIL
    call LAPI_UTIL(h, command, rc)
    call code(LAPI_ERR_UTIL_CMD, rc, 'LAPI_UTIL of no command')
    call end_case('registration')
  end subroutine registration

  subroutine packing
    type(LAPI_PACK_DGSP_T) :: pack
    type(LAPI_UNPACK_DGSP_T) :: unpack
    integer(4), volatile :: packed(50), back(100)
    pack%Util_type = LAPI_DGSP_PACK
    pack%dgsp_handle = gather
    call LAPI_ADDRESS(data, pack%in_buf, rc)
    pack%bytes = 200
    call LAPI_ADDRESS(packed, pack%out_buf, rc)
    pack%out_size = 200
    pack%position = 0
    call LAPI_UTIL(h, pack, rc)
    call good(rc, 'LAPI_DGSP_PACK')
    call expect(all(packed == data(1:100:2)) .and. pack%position == 200, 'every other number')
    call LAPI_UTIL(h, pack, rc)
    call code(LAPI_ERR_PACK_SZ, rc, 'LAPI_DGSP_PACK into a full buffer')
    back = 0
    unpack%Util_type = LAPI_DGSP_UNPACK
    unpack%dgsp_handle = gather
    unpack%buf = pack%out_buf
    unpack%in_size = 200
    call LAPI_ADDRESS(back, unpack%out_buf, rc)
    unpack%bytes = 200
    unpack%out_size = 400
    unpack%position = 0
    call LAPI_UTIL(h, unpack, rc)
    call good(rc, 'LAPI_DGSP_UNPACK')
    call expect(all(back(1:100:2) == packed) .and. all(back(2:100:2) == 0), 'back at their places')
    call end_case('packing')
  end subroutine packing

  subroutine send(dgsp, bytes)
    integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
    integer(LAPI_LONG_TYPE), intent(in) :: bytes
    type(LAPI_AMDGSP_T) :: am
    am%Xfer_type = LAPI_DGSP_XFER
    am%flags = 0
    am%tgt = next
    am%hdr_hdl = 3
    am%uhdr_len = 0
    am%uhdr = LAPI_ADDR_NULL
    call LAPI_ADDRESS(data, am%udata, rc)
    am%udata_len = bytes
    am%shdlr = LAPI_ADDR_NULL
    am%sinfo = LAPI_ADDR_NULL
    am%tgt_cntr = counters(next + 1)
    am%org_cntr = LAPI_ADDR_NULL
    am%cmpl_cntr = LAPI_ADDR_NULL
    am%dgsp = dgsp
    call LAPI_GFENCE(h, rc)
    call LAPI_XFER(h, am, rc)
    call good(rc, 'LAPI_DGSP_XFER')
    call LAPI_WAITCNTR(h, arrived, 1, LAPI_ADDR_NULL, rc)
    call LAPI_GFENCE(h, rc)
  end subroutine send

  subroutine message
    call LAPI_ADDR_SET(h, dgsp_handler, 3, rc)
    scatter = LAPI_BYTE
    call send(gather, 200_LAPI_LONG_TYPE)
    call expect(all(place(1:50) == data(1:100:2)), 'gathered')
    place = 0
    scatter = gather
    call send(LAPI_BYTE, 200_LAPI_LONG_TYPE)
    call expect(all(place(1:100:2) == data(1:50)) .and. all(place(2:100:2) == 0), 'scattered')
    call end_case('LAPI_DGSP_XFER')
  end subroutine message

  subroutine combination
    type(LAPI_REG_DDM_T) :: command
    integer(4), parameter :: copy = LAPI_DGSM_CONTROL_SIZE, iterate = copy + LAPI_DGSM_COPY_SIZE
    integer(4), save :: ints(iterate + LAPI_DGSM_ITERATE_SIZE)
    integer(LAPI_ADDR_TYPE) :: operands
    type(every_other), save :: plain
    ! CONTROL has three numbers, so in 64 bits COPY is not where a type would have it.
    ints(:copy) = [LAPI_DGSM_CONTROL, 21, 42]
    ints(copy + 1:iterate) = transfer(copy_of(400), ints(copy + 1:iterate))
    ints(iterate + 1:) = [LAPI_DGSM_ITERATE, -iterate]
    call LAPI_ADDRESS(ints, address, rc)
    call register(address, size(ints), 400_LAPI_LONG_TYPE, 400_LAPI_LONG_TYPE, 0, scatter)
    ! The gathering program has an atom size: no number is cut in two.
    plain%copy = copy_of(400)
    plain%iterate = LAPI_DGSM_ITERATE_T(LAPI_DGSM_ITERATE, -LAPI_DGSM_COPY_SIZE)
    call LAPI_ADDRESS(plain, address, rc)
    call register(address, LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE, 400_LAPI_LONG_TYPE, &
                  400_LAPI_LONG_TYPE, 4, operands)
    call LAPI_ADDRESS(adding, function_address, rc)
    command%Util_type = LAPI_REG_DDM_FUNC
    command%ddm_func = function_address
    call LAPI_UTIL(77, command, rc)
    call code(LAPI_ERR_HNDL_INVALID, rc, 'LAPI_REG_DDM_FUNC of no handle')
    call LAPI_UTIL(h, command, rc)
    call good(rc, 'LAPI_REG_DDM_FUNC')
    place = 1000
    call send(operands, 400_LAPI_LONG_TYPE)
    call expect(calls > 0 .and. seen_operand == 42 .and. seen_operation == 21, 'what the function was told')
    call expect(all(place == data + 1000), 'sums')
    command%ddm_func = LAPI_ADDR_NULL
    call LAPI_UTIL(h, command, rc)
    call good(rc, 'LAPI_REG_DDM_FUNC of LAPI_ADDR_NULL')
    call end_case('a DDM function')
  end subroutine combination

  subroutine giving_back
    type(LAPI_RESV_DGSP_T) :: reserve
    type(LAPI_DREF_DGSP_T) :: give
    reserve%Util_type = LAPI_RESERVE_DGSP
    reserve%dgsp_handle = gather
    call LAPI_UTIL(h, reserve, rc)
    call good(rc, 'LAPI_RESERVE_DGSP')
    give%Util_type = LAPI_UNRESERVE_DGSP
    give%dgsp_handle = gather
    call LAPI_UTIL(h, give, rc)
    call LAPI_UTIL(h, give, rc)
    call good(rc, 'LAPI_UNRESERVE_DGSP')
    call LAPI_UTIL(h, give, rc)
    call expect(rc /= LAPI_SUCCESS, 'LAPI_UNRESERVE_DGSP once too often')
    call end_case('giving a DGSP back')
  end subroutine giving_back

  ! The lock's functions are C's: they take the handle by value.
  subroutine the_lock
    use, intrinsic :: iso_c_binding
    abstract interface
      integer(c_int) function on_lock(hndl) bind(c)
        import :: c_int
        integer(c_int), value :: hndl
      end function on_lock
    end interface
    type(LAPI_THREAD_FUNC_T) :: command
    procedure(on_lock), pointer :: lock, unlock
    command%Util_type = LAPI_GET_THREAD_FUNC
    call LAPI_UTIL(h, command, rc)
    call good(rc, 'LAPI_GET_THREAD_FUNC')
    call c_f_procpointer(transfer(command%mutex_lock, c_null_funptr), lock)
    call c_f_procpointer(transfer(command%mutex_unlock, c_null_funptr), unlock)
    call expect(lock(h) == 0, 'the lock taken')
    call expect(unlock(h) == 0, 'the lock given back')
    call expect(unlock(h) /= 0, 'given back once too often')
    call end_case('LAPI_GET_THREAD_FUNC')
  end subroutine the_lock
end program dgsps
