package storetest

// Histories is what Linearizable does, for backends that are wrong.
var Histories = histories
