// class without destructor takes what a constructor is given
struct Buf { char b[100]; };
class Data {
  Buf *_buf;
public:
  Data(Buf *b) : _buf(b) {}
  int get() { return _buf->b[3]; }
#ifndef LEAK
  ~Data() { delete _buf; }
#endif
};
Data *make(int n) { Buf *b = new Buf(); b->b[3] = n; return new Data(b); }
int main(int argc, char **argv) { Data *d = make(argc); int r = d->get(); delete d; return r; }
