// Package postgresdb opens PostgreSQL databases for the stores of this module: call [Open] with a [Layout], the
// tables of a store in all of their versions. One of the servers that start at once upgrades them first.
// [Unavailable] tells failures of machine and network from those of a program. Errors never contain a password.
package postgresdb
