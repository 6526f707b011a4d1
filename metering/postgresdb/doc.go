// Package postgresdb opens PostgreSQL databases for the stores of this module: call [Open] with a [Layout], the tables
// of a store in all of their versions. Of servers that start at the same time, one upgrades them first. [Unavailable]
// distinguishes failures of machine and network from those of a program. Errors never contain a password.
package postgresdb
