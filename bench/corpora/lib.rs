//! Empty: this package exists to name the packages it depends on.
