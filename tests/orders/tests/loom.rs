// SPDX-License-Identifier: MIT OR Apache-2.0

//! Each model in every order.

use rkfd_orders::models;

#[test]
fn packets_of_two_producers_arrive_once_and_whole() {
    models::two_producers();
}

#[test]
fn a_slot_is_written_again_when_it_is_free() {
    models::a_slot_again();
}

#[test]
fn a_value_orders_what_was_written_before() {
    models::a_value();
}

#[test]
fn who_sleeps_for_a_signal_wakes() {
    models::a_sleeper();
}

#[test]
fn a_future_is_woken() {
    models::a_future();
}

#[test]
fn a_future_is_woken_when_the_thread_sleeps_for_another() {
    models::a_second_future();
}

#[test]
fn a_piece_has_one_user_at_a_time() {
    models::a_piece();
}
