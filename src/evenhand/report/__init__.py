"""What people read: words and pictures of plain values. The only package that knows charts."""
