package storetest

// Histories is what Linearizable does, for backends that are wrong.
var Histories = histories

// CheckTime is how long Linearizable looks for the order of one history.
const CheckTime = checkTime
