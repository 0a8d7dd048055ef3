// An object from a virtual factory, of which one implementation hands out what it keeps.
struct Stream { int size; };
struct Files {
    virtual ~Files() {}
    virtual Stream *open(int n) = 0;
    virtual void close(Stream *stream) = 0;
};
struct Disk : Files {
    Stream *open(int n) override { return n > 0 ? new Stream{n} : nullptr; }
    void close(Stream *stream) override { delete stream; }
};
struct Memory : Files {
    Stream *open(int n) override { return new Stream{n}; }
    void close(Stream *stream) override { delete stream; }
};
struct Archive : Files {
    Stream kept{1};
    Stream *open(int) override { return &kept; }
    void close(Stream *) override {}
};
int use(Files *files, int n)
{
    Stream *stream = files->open(n);
    if (!stream)
        return 0;
    if (stream->size == 2) {
#ifndef LEAK
        files->close(stream);
#endif
        return 1;
    }
    files->close(stream);
    return 2;
}
int main(int argc, char **)
{
    Disk disk;
    Memory memory;
    Archive archive;
    Files *all[] = {&disk, &memory, &archive};
    int sum = 0;
    for (Files *files : all)
        sum += use(files, argc + 1);
    return sum == 77;
}
