//! What a person sees: commands, terminals, documentation.

mod call;
mod columns;
mod day;
mod docs;
mod forms;
mod json;
mod newcomer;
mod reading;
mod reference;
mod results;
mod ui;
mod ui_acts;
mod ui_calls;
mod ui_ends;
mod up;
mod up_beside;
mod up_live;
mod up_screen;
mod up_table;
