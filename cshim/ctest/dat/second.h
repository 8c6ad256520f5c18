/*
 * second.h - names under which uDAPL's lane is compiled once more, with state of its own: the other
 * of two processes in one. A function that is missing here is defined twice: the linker says so.
 */
#ifndef CTEST_SECOND_H
#define CTEST_SECOND_H

#define dat_the_lane second_lane
#define dat_progress second_progress
#define dat_queue_pop second_queue_pop
#define dat_queue_place second_queue_place
#define dat_queue_post second_queue_post
#define dat_queue_want second_queue_want
#define dat_queue_wanted second_queue_wanted
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

#endif
