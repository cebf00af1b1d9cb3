# Names that Python programs on LeetCode may use without importing them. If a module and a function
# have the same name, such as `bisect`, it refers to the module. No name hides a builtin.

from typing import *
from string import *
from re import *
from datetime import *
from collections import *
from heapq import *
from bisect import *
from copy import *
from math import *
from random import *
from statistics import *
from itertools import *
from functools import *
from operator import *
from io import *
from sys import *
from json import *
import bisect, builtins, collections, copy, datetime, functools, heapq, io, itertools, json, math
import operator, random, re, statistics, string, sys, typing

for _name in dir(builtins):
    if not _name.startswith("_"):
        globals().pop(_name, None)
del _name, builtins


class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next


class TreeNode:
    def __init__(self, val=0, left=None, right=None):
        self.val = val
        self.left = left
        self.right = right
