# find_package(lapi): targets lapi::lapi, lapi::dat and lapi::fortran. Installed as
# LIBDIR/cmake/lapi/lapiConfig.cmake; paths are relative to that file, so the installation may be moved.
#
#   find_package(lapi 0.2 REQUIRED)
#   target_link_libraries(program PRIVATE lapi::lapi)      # C and C++
#   target_link_libraries(program PRIVATE lapi::fortran)   # adds lapif.h of the program's word size
#   target_link_libraries(program PRIVATE lapi::dat)       # uDAPL, by the library's own libdat2
get_filename_component(_lapi_lib "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(_lapi_prefix "${_lapi_lib}")
while(NOT EXISTS "${_lapi_prefix}/include/lapi.h")
  get_filename_component(_lapi_above "${_lapi_prefix}" DIRECTORY)
  if(_lapi_above STREQUAL _lapi_prefix)
    set(lapi_FOUND FALSE)
    set(lapi_NOT_FOUND_MESSAGE "no include/lapi.h above ${_lapi_lib}")
    return()
  endif()
  set(_lapi_prefix "${_lapi_above}")
endwhile()
find_package(Threads QUIET)

if(NOT TARGET lapi::lapi)
  add_library(lapi::lapi SHARED IMPORTED)
  set_target_properties(lapi::lapi PROPERTIES
    IMPORTED_LOCATION "${_lapi_lib}/liblapi_r.so.1"
    IMPORTED_SONAME "liblapi_r.so.1"
    INTERFACE_INCLUDE_DIRECTORIES "${_lapi_prefix}/include")
  if(TARGET Threads::Threads)
    set_property(TARGET lapi::lapi PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads)
  endif()
endif()
if(NOT TARGET lapi::fortran)
  math(EXPR _lapi_word "${CMAKE_SIZEOF_VOID_P} * 8")
  set(_lapi_fortran "${_lapi_prefix}/include")
  foreach(_lapi_folder "${_lapi_prefix}/include${_lapi_word}"
          "${_lapi_prefix}/include/${CMAKE_LIBRARY_ARCHITECTURE}/lapi")
    if(EXISTS "${_lapi_folder}/lapif.h")
      set(_lapi_fortran "${_lapi_folder}")
      break()
    endif()
  endforeach()
  add_library(lapi::fortran INTERFACE IMPORTED)
  set_target_properties(lapi::fortran PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_lapi_fortran}"
    INTERFACE_LINK_LIBRARIES lapi::lapi)
endif()
if(NOT TARGET lapi::dat AND EXISTS "${_lapi_prefix}/include/dat2/udat.h")
  add_library(lapi::dat SHARED IMPORTED)
  set_target_properties(lapi::dat PROPERTIES
    IMPORTED_LOCATION "${_lapi_lib}/liblapi_r.so.1"
    IMPORTED_SONAME "liblapi_r.so.1"
    INTERFACE_INCLUDE_DIRECTORIES "${_lapi_prefix}/include")
endif()
set(lapi_FOUND TRUE)
