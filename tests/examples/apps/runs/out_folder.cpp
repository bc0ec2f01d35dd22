#include "examples/apps/runs/out_folder.h"

#include <filesystem>
#include <fstream>

#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

using namespace apps;
namespace fs = std::filesystem;

TEST_CASE("make_run_folder: what it made goes again unless something is in it") {
  TemporaryFolder place;
  std::string folder = place.file("a/b/run");
  {
    RunFolder run = make_run_folder(folder);
    CHECK(fs::is_directory(folder));
    RunFolder copy = run;
  }
  CHECK(!fs::exists(place.file("a")));
  { write_text((make_run_folder(folder).path / "file"), "x"); }
  CHECK(fs::exists(folder + "/file"));
  // A folder that was there before stays, whatever is in it.
  fs::create_directory(place.file("empty"));
  { make_run_folder(place.file("empty")); }
  CHECK(fs::is_directory(place.file("empty")));
  { make_run_folder(place.file("empty/run/")); }
  CHECK(fs::is_directory(place.file("empty")));
  CHECK(!fs::exists(place.file("empty/run")));
}

TEST_CASE("make_run_folder: what cannot be a folder is named, and leaves none") {
  TemporaryFolder place;
  auto refused = [&](const std::string& name) {
    return refusal([&] { make_run_folder(place.file(name)); });
  };
  auto expected = [&](const std::string& name, const std::string& reason) {
    return "--out_dir " + place.file(name) + ": " + reason;
  };
  write_text(place.file("text"), "x");
  fs::create_symlink(place.file("nowhere"), place.file("link"));
  std::string dangling = "a symbolic link to a folder that does not exist";
  CHECK(refused("link") == expected("link", dangling));
  CHECK(refused("link/run") == expected("link/run", dangling));
  CHECK(refused("text") == expected("text", "a file, expected a folder"));
  CHECK(refused("text/run") == expected("text/run", "a file, expected a folder"));
  std::string long_name = "new/" + std::string(300, 'x');
  CHECK(refused(long_name) == expected(long_name, "File name too long"));
  CHECK(!fs::exists(place.file("new")));
  CHECK(!fs::exists(place.file("nowhere")));
  CHECK(refusal([] { make_run_folder(""); }) == "--out_dir : expected the name of a folder");
  // A link to a folder is one.
  fs::create_directory(place.file("nowhere"));
  { make_run_folder(place.file("link/run")); }
  CHECK(fs::is_directory(place.file("nowhere")));
  CHECK(!fs::exists(place.file("nowhere/run")));
}
