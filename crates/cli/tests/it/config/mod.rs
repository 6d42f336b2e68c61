//! What is configured, approved, written and explained.

mod approved_files;
mod approving;
mod behaviour;
mod bound;
mod closed;
mod connecting;
mod connectors;
mod denied_addresses;
mod doctor;
mod errors;
mod explain;
mod files;
mod hostile;
mod importing;
mod list;
mod managed_rules;
mod own_files;
mod planted;
mod policy;
mod project_tools;
mod reload;
mod surroundings;
mod trust;
mod trust_serving;
mod writes;
