#define _POSIX_C_SOURCE 200809L

#include "config.h"
#include "report.h"
#include "scan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int scan_file(struct summary *summary, const char *path)
{
    FILE *file;
    int status;

    if (strcmp(path, "-") == 0)
        return scan_stream(summary, stdin);
    file = fopen(path, "r");
    if (file == NULL)
        return -1;
    status = scan_stream(summary, file);
    fclose(file);
    return status;
}

static struct config *load_config(const char *path)
{
    struct config *config;
    unsigned line;
    enum config_status status;

    if (path == NULL)
        return config_default();
    status = config_load(path, &config, &line);
    if (status == CONFIG_OK)
        return config;
    fprintf(stderr, "logsum: %s:%u: %s\n", path, line, config_error(status));
    return NULL;
}

static int run(const char *config_path, char **paths, int count)
{
    int status = EXIT_FAILURE;
    const struct format *format;
    struct summary *summary = NULL;
    struct config *config = load_config(config_path);

    if (config == NULL)
        return EXIT_FAILURE;
    format = format_find(config->format);
    if (format == NULL) {
        fprintf(stderr, "logsum: no format called \"%s\"\n", config->format);
        goto done;
    }
    summary = summary_new(config);
    if (summary == NULL)
        goto done;
    for (int i = 0; i < count; i++) {
        if (scan_file(summary, paths[i]) != 0) {
            fprintf(stderr, "logsum: cannot read %s\n", paths[i]);
            goto done;
        }
    }
    if (report_write(format, stdout, summary) != 0) {
        fprintf(stderr, "logsum: cannot write the report\n");
        goto done;
    }
    status = EXIT_SUCCESS;

done:
    summary_free(summary);
    config_free(config);
    return status;
}

int main(int argc, char **argv)
{
    const char *config_path = NULL;
    int option;

    while ((option = getopt(argc, argv, "c:")) != -1) {
        if (option != 'c') {
            fprintf(stderr, "usage: logsum [-c CONFIG] LOG...\n");
            return EXIT_FAILURE;
        }
        config_path = optarg;
    }
    return run(config_path, argv + optind, argc - optind);
}
