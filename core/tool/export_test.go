package tool

// CheckName shows tests what names are allowed.
var CheckName = checkName
