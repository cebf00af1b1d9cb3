# The tags of exceptions and of `longjmp`, which no object of the libraries defines.
	.globl	__cpp_exception
	.tagtype	__cpp_exception i64
__cpp_exception:
	.globl	__c_longjmp
	.tagtype	__c_longjmp i64
__c_longjmp:
