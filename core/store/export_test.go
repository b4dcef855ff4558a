package store

// CheckList shows tests what names of lists are allowed.
var CheckList = checkList
