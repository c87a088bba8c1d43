#!/usr/bin/env bash
# The installed tree works after it was moved, a CMake project finds it, its
# documentation is complete, and CPack builds a Debian package from it.
source "$(dirname "$0")/../exec/lib.sh"
cmake=${CMAKE:-cmake}

"$cmake" --install "$build" --component meshc --prefix "$work/first" >install.log || { cat install.log; fail "install"; }
mv first moved
moved=$work/moved
[ ! -e "$moved/lib/meshc/libmeshc_cuda.so" ] || fail "the CUDA plugin belongs to its own component"
# Nothing refers to the build folder.
! grep -rl -- "$build" "$moved" || fail "files of the installed tree name the build folder"

# The compiler and its programs.
cp "$root/python-free-examples/01_fashion_mnist/perceptron.mesh" .
"$moved/bin/meshc" perceptron.mesh --set batch=4 -o perceptron
expect 0 '^model perceptron' ./perceptron info
if has_mpi; then # processes need the plugin, which the run path leads to
  expect 0 '^model perceptron' mpirun -n 4 ./perceptron info
  readelf -d perceptron | grep -q "$moved/lib/meshc" || fail "no run path to the plugins"
fi
expect 0 'OVERVIEW' "$moved/bin/mesh-opt" --help
# Modules are found in the moved tree.
{ echo 'import nn'; sed 's|h = relu(|h = nn.layer_norm(|; s|pixel) + b1)|pixel) + b1, hidden)|' perceptron.mesh; } >normalized.mesh
(cd / && "$moved/bin/meshc" "$work/normalized.mesh" --set batch=4 -o "$work/normalized" --depfile "$work/normalized.d")
grep -q "$moved/share/meshc/nn.mesh" normalized.d || fail "nn.mesh does not come from the installed tree"

# find_package and add_mesh_program; incorrect use is an error that says so.
mkdir project
cat >project/CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(meshc 0.1 REQUIRED)
add_mesh_program(digits ../perceptron.mesh MESH data=2 tensor=1 LAYOUT batch:data SET batch=4 pixel=6)
install(TARGETS digits)
EOF
"$cmake" -S project -B project/build -DCMAKE_PREFIX_PATH="$moved" >configure.log 2>&1 || { cat configure.log; fail "configure"; }
"$cmake" --build project/build >build.log 2>&1 || { cat build.log; fail "build"; }
expect 0 'mesh data = 2, tensor = 1' project/build/digits info
# An imported file that changes is a reason to compile again.
cp "$moved/share/meshc/nn.mesh" mine.mesh
sed -i 's/^import nn/import "mine.mesh" as nn/' normalized.mesh
sed -i 's|\.\./perceptron.mesh|../normalized.mesh|' project/CMakeLists.txt
"$cmake" --build project/build >build.log 2>&1 || { cat build.log; fail "build with an imported file"; }
touch mine.mesh
"$cmake" --build project/build >build.log
grep -q 'Compiling the model' build.log || fail "not compiled again after an imported file changed"
"$cmake" --build project/build >build.log
! grep -q 'Compiling the model' build.log || fail "compiled again without a change"
sed -i 's/MESH data/MESHES data/' project/CMakeLists.txt
expect 1 "unknown argument 'MESHES" "$cmake" -S project -B project/build

# The manual page contains every option of --help, and completion answers with them.
"$moved/bin/meshc" --help | grep -oE '^  (-[a-z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort >options
[ "$(wc -l <options)" -gt 10 ] || fail "--help was not understood"
while read -r option; do
  grep -qF -- "${option//-/\\-}" "$moved/share/man/man1/meshc.1" || fail "the manual page lacks $option"
done <options
"$moved/bin/meshc" --complete -- | cut -f1 | sort >completed
diff options completed || fail "completion has other options (>) than --help (<)"
for file in bash-completion/completions/meshc zsh/vendor-completions/_meshc fish/vendor_completions.d/meshc.fish \
  bash-completion/completions/meshc-tokens zsh/vendor-completions/_meshc-tokens fish/vendor_completions.d/meshc-tokens.fish; do
  grep -q -- '--complete' "$moved/share/$file" || fail "$file completes nothing"
done
reply=$(PATH=$moved/bin:$PATH bash -c "source '$moved/share/bash-completion/completions/meshc'
  COMP_LINE='meshc --emit l'; COMP_POINT=\${#COMP_LINE}; _complete_meshc; echo \"\${COMPREPLY[@]}\"")
[ "$reply" = llvm ] || fail "bash completes '--emit l' to '$reply'"

# The Debian package.
for tool in dpkg-shlibdeps:dpkg-dev file:file; do
  command -v ${tool%:*} >/dev/null || skip "no ${tool%:*} (package ${tool#*:}); the installed tree passed"
done
(cd "$build" && "${cmake%cmake}cpack" -G DEB -B "$work/deb" >"$work/cpack.log" 2>&1) || { cat cpack.log; fail "cpack"; }
deb=$(echo deb/meshc_*.deb)
dpkg-deb -c "$deb" | awk '{print $6}' >contents
for file in ./usr/bin/meshc ./usr/bin/mesh-opt ./usr/bin/meshc-tokens ./usr/lib/meshc/libmeshc_runtime.a ./usr/lib/cmake/meshc/meshcConfig.cmake \
  ./usr/share/man/man1/meshc.1 ./usr/share/meshc/nn.mesh ./usr/share/meshc/weights/gpt2.map ./usr/share/vim/vimfiles/syntax/mesh.vim ./usr/share/meshc/vscode/package.json; do
  grep -qx -- "$file" contents || fail "the package lacks $file"
done
dpkg-deb -f "$deb" Depends | grep -q 'libmlir-22.*' || fail "the package does not depend on libmlir-22"
echo passed
