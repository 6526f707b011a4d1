// Package sqlitedb opens SQLite files for the stores of this module: call [Open]. It is safe beside other programs,
// admits one server at a time where that is wanted, and upgrades layouts.
//
// SQLite uses POSIX locks, which belong to a process and a file, not to a descriptor: a process that closes any
// descriptor of a file loses all its locks on it, SQLite's included. Another program then believes itself alone and
// deletes the write-ahead log under the server when it leaves. Therefore nothing here opens a database outside
// SQLite, except to lock it for one server; that descriptor stays open until the process closes its last [File] on
// it. A program that shares a process with a store must not open the file either, nor through another SQLite
// library.
//
// [File.Connect] opens connections that write ahead (WAL) and whose commits wait for the disk (synchronous=FULL);
// [File.Pool] has connections that read. [File.Serve] admits one server, [File.Check] detects that the file was
// removed, [Layout.Migrate] upgrades a layout, [Backup] copies a database during writes, and [Unavailable]
// distinguishes failures of the machine from those of a program.
package sqlitedb
