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
#define dat_lane_answer second_answer
#define dat_lane_ask second_ask
#define dat_lane_asked second_asked
#define dat_lane_await second_await
#define dat_lane_completion second_completion
#define dat_lane_copy second_copy
#define dat_lane_copy_part second_copy_part
#define dat_lane_core second_core
#define dat_lane_direct second_direct
#define dat_lane_disarm second_disarm
#define dat_lane_done second_done
#define dat_lane_half second_half
#define dat_lane_learn second_learn
#define dat_lane_leave second_leave
#define dat_lane_look second_look
#define dat_lane_passed second_passed
#define dat_lane_poll second_poll
#define dat_lane_post second_post
#define dat_lane_pull second_pull
#define dat_lane_pulled second_pulled
#define dat_lane_receive second_receive
#define dat_lane_reply second_reply
#define dat_lane_send second_send
#define dat_lane_target second_target
#define dat_lane_tell second_tell
#define dat_lane_time second_time
#define dat_lane_turn second_turn
#define dat_lane_watch second_watch

#endif
