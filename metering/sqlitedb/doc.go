// Package sqlitedb opens SQLite files for the stores of this module: safely beside other programs, for
// one server at a time where that is wanted, in layouts that are brought up to date.
//
// SQLite's locks are those of POSIX. They belong to a process and a file, not to a descriptor: when a
// process closes any descriptor of a file, it loses all of its locks on it, those of SQLite too. Another
// program then takes itself for the only one, and deletes the write-ahead log under the server when it
// leaves. Therefore nothing here opens a database beside SQLite, except to lock it for one server; that
// descriptor stays open until the last [File] of the process on it is closed. Whoever shares a process
// with a store must not open its file either, nor open it through another SQLite library.
//
// A store opens its file with [Open], and its connections with [File.Connect]: they write ahead (WAL) and a commit
// waits for the disk (synchronous=FULL). [File.Pool] has connections that read. [File.Serve] lets one server in,
// [File.Check] notices that the file was removed, [Migrate] brings a layout up to date, [Backup] copies a database
// while it is written, and [Unavailable] tells the failures of the machine from those of a program.
package sqlitedb
