// std::filesystem and file streams.
#include "abi.h"

#include <filesystem>
#include <fstream>
#include <iostream>

int main(int, char **)
{
    namespace fs = std::filesystem;
    std::ofstream("file") << "line 1\nline 2\n";
    std::string line;
    std::ifstream in("file");
    int lines = 0;
    while (std::getline(in, line))
        lines++;
    std::cout << lines << " " << fs::file_size("file") << std::endl;
    fs::create_directories("a/b/c");
    fs::copy_file("file", "a/b/copy");
    fs::rename("a/b/copy", "a/moved");
    std::cout << fs::exists("a/moved") << fs::is_directory("a/b/c") << fs::exists("a/b/copy") << std::endl;
    std::cout << fs::remove_all("a") << std::endl;
    return 0;
}
