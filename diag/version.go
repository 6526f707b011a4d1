package diag

// Version is the version of this module. Programs that were built from a tagged commit report the tag instead.
const Version = "0.9.0"
