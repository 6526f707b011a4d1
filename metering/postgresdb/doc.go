// Package postgresdb opens PostgreSQL databases for the stores of this module: call [Open] with a [Layout], the
// tables that one store has in all of their versions, which is brought up to date first, by one of the servers that
// start at once. [Unavailable] tells the failures of the machine and the network from those of a program. Errors
// never contain a password.
package postgresdb
