/*
 * second.h - names under which uDAPL's lane is compiled once more, with state of its own: the other
 * of two processes in one. A function that is missing here is defined twice: the linker says so.
 */
#ifndef CTEST_SECOND_H
#define CTEST_SECOND_H

#define dat_the_lane second_lane
#define dat_progress second_progress
#define evd_open second_evd_open
#define evd_set_async second_evd_set_async
#define evd_close second_evd_close
#define evd_place second_evd_place
#define evd_placed second_evd_placed
#define evd_want second_evd_want
#define evd_wanted second_evd_wanted
#define evd_post second_evd_post
#define evd_wake second_evd_wake
#define evd_post_software second_evd_post_software
#define evd_set second_evd_set
#define evd_set_waitable second_evd_set_waitable
#define evd_set_size second_evd_set_size
#define evd_take second_evd_take
#define evd_wait_begins second_evd_wait_begins
#define evd_wait_ends second_evd_wait_ends
#define evd_wait_cancelled second_evd_wait_cancelled
#define cno_open second_cno_open
#define cno_close second_cno_close
#define cno_set_agent second_cno_set_agent
#define cno_take second_cno_take
#define cno_waits second_cno_waits
#define cno_next_agent second_cno_next_agent
#define cno_agents second_cno_agents
#define cno_fire second_cno_fire
#define cno_some second_cno_some
#define handle_areas second_handle_areas
#define handle_add_area second_handle_add_area
#define handle_is_area second_handle_is_area
#define evd_set_cno second_evd_set_cno
#define evd_enable second_evd_enable
#define rc_add_receive second_rc_add_receive
#define rc_add_shared second_rc_add_shared
#define rc_advance second_rc_advance
#define rc_answer second_rc_answer
#define rc_ask second_rc_ask
#define rc_asked second_rc_asked
#define rc_await second_rc_await
#define rc_bind second_rc_bind
#define rc_close second_rc_close
#define rc_close_shared second_rc_close_shared
#define rc_completion second_rc_completion
#define dat_ring_grow second_dat_ring_grow
#define rc_copy second_rc_copy
#define rc_copy_part second_rc_copy_part
#define rc_cut second_rc_cut
#define rc_direct second_rc_direct
#define rc_disarm second_rc_disarm
#define rc_disconnect second_rc_disconnect
#define rc_done second_rc_done
#define rc_done_shared second_rc_done_shared
#define rc_fail second_rc_fail
#define rc_flush second_rc_flush
#define rc_half second_rc_half
#define rc_learn second_rc_learn
#define rc_leave_shared second_rc_leave_shared
#define rc_look second_rc_look
#define rc_message second_rc_message
#define rc_new_request second_rc_new_request
#define rc_open second_rc_open
#define rc_open_shared second_rc_open_shared
#define rc_over second_rc_over
#define rc_passed second_rc_passed
#define rc_poll second_rc_poll
#define rc_poll_adapters second_rc_poll_adapters
#define rc_pop second_rc_pop
#define rc_post second_rc_post
#define rc_post_node second_rc_post_node
#define rc_post_receive second_rc_post_receive
#define rc_post_shared second_rc_post_shared
#define rc_pull second_rc_pull
#define rc_pulled second_rc_pulled
#define rc_find_list second_rc_find_list
#define rc_ready second_rc_ready
#define rc_received second_rc_received
#define rc_reply second_rc_reply
#define rc_restart second_rc_restart
#define rc_scatter second_rc_scatter
#define rc_send second_rc_send
#define rc_take_or_ask second_rc_take_or_ask
#define rc_take_shared second_rc_take_shared
#define rc_target second_rc_target
#define rc_tell second_rc_tell
#define rc_time second_rc_time
#define rc_turn second_rc_turn
#define rc_watch second_rc_watch
/* The second process has no adapters (fake_dat.c). */
#define dev_poll second_dev_poll
#define dev_poll_for second_dev_poll_for

#endif
