package main

// #include "context/golapi.h"
import "C"

//export golapi_group_create
func golapi_group_create(context C.int, n C.uint32_t, list, group C.cshim_addr) (rc C.int) {
	defer broke(context, "golapi_group_create", &rc)
	return C.int(entered(context).GroupCreate(uint32(n), addr(list), addr(group)))
}

//export golapi_group_free
func golapi_group_free(context C.int, group C.uint32_t) (rc C.int) {
	defer broke(context, "golapi_group_free", &rc)
	return C.int(entered(context).GroupFree(uint32(group)))
}
