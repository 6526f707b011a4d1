// Package meteringtest is the conformance suite for metering stores: call [TestStore]. For tests of their callers it
// has a [Clock] that is set by hand, and [Faulty], a store that fails on demand.
//
// Pass [TestStore] a function that opens an empty store:
//
//	func TestStore(t *testing.T) {
//		meteringtest.TestStore(t, func(t *testing.T, clock *meteringtest.Clock) metering.Store {
//			return mystore.New(mystore.Config{Plans: meteringtest.Plans(), Clock: clock.Now})
//		})
//	}
//
// The store must use [Plans] and end its leases by the clock. A store that outlives its process also has a method
// Reopen(*testing.T) metering.Store, which closes and reopens it.
//
// A [Faulty] store fails before or after an operation took effect.
package meteringtest
