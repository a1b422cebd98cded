"""Texts that are hard to segment without loss."""

NASTY = [
    "",
    " \t\n",
    "a",
    "\ufeffHello there.\r\n\r\n  Second\tparagraph, it is.\r\n",
    "Cafe\u0301 na\u0308ive \u0301lone. \u1100\u1161\u11a8 \u212b \u2126\n",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\U0001f3fd!! \U0001f1ec\U0001f1f7 \u2764\ufe0f",
    "x\u00a0y\u2003z\u200bw\u2028v\u2029u\x00t\x1fs\x85r\x0bq\x0cp",
    "a|b\\n c\\p | \\ _ \\u0041\n\n\n\n\t# text = x\n1-2\t_\n",
    "= \u0338x =\u0338",
    "don't DON'T isn't xn't n't",
    "\r\r a \r\n\r b \n \n\n c \x0c\n d",
    "\u0915\u094d\u0937\u0947\u0924\u094d\u0930 \u0e20\u0e32\u0e29\u0e32",
    "\u65e5\u672c\u8a9e\u3067\u3059\u3002\u306f\u3044\u3002",
]
